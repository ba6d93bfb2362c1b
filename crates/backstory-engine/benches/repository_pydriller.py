#!/usr/bin/env python3
"""Lists the history of a clone with PyDriller: every commit, the files it changes and the methods that change in them.

    pip install pydriller
    repository_pydriller.py <clone>

The bench `repository` reads the same, and stores it, in its phase "commits"; PyDriller tells nothing of what merges bring.
"""
import sys
import time

from pydriller import Repository

begun = time.time()
commits = files = methods = 0
for commit in Repository(sys.argv[1]).traverse_commits():
    commits += 1
    for file in commit.modified_files:
        files += 1
        methods += len(file.changed_methods)
print(f"{commits} commits, {files} files, {methods} methods in {time.time() - begun:.1f} s")
