"""Reading rendered event text in any language: phrases, parameter hints, paths, shapes."""
