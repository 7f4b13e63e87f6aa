"""Problems: what esewatch cannot see, and the fix of each."""
