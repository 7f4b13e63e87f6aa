"""The verdicts that the tables and headings of a page show."""

import re


def verdicts(page: str) -> set[tuple[str, str, str]]:
    """Computer, name and verdict; `page` is without entities."""
    tag, bold = r'<span class="status (\w+)">[^<]*</span>', r"(?:<a [^>]*>)?<bdi>(.*?)</bdi>"
    row = rf'<td data-label="Verdict">{tag}.*?{bold}.*?data-label="Copy on">{bold}'
    heading = rf'{tag} {bold}(?:</a>)? <span class="soft">on {bold}'
    places = re.findall(f"{row}|{heading}", page, re.DOTALL)
    found = [tuple(filter(None, each)) for each in places]
    return {(computer, name, verdict) for verdict, name, computer in found}
