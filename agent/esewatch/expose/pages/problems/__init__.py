"""Problems: data that esewatch lacks, and the fix of each."""
