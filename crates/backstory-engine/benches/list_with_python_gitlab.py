#!/usr/bin/env python3
"""Lists with python-gitlab what `backstory sync` reads of a project, one request after the other, and keeps nothing.

    pip install python-gitlab
    python3 list_with_python_gitlab.py https://gitlab.example.com group/project

The token is read from GITLAB_TOKEN. Compare the time with that of a first `backstory sync` with
`requests_per_second = 0`, which also stores what it reads.
"""

import os
import sys
import time

import gitlab


def optional(call):
    """The answer of an endpoint that not every edition of GitLab has."""
    try:
        return call()
    except gitlab.exceptions.GitlabError:
        return []


def main():
    url, path = sys.argv[1:3]
    began = time.monotonic()
    client = gitlab.Gitlab(url, private_token=os.environ.get("GITLAB_TOKEN"), per_page=100)
    project = client.projects.get(path)
    counts = {"labels": len(project.labels.list(get_all=True)), "milestones": len(project.milestones.list(get_all=True))}
    issues = project.issues.list(get_all=True, order_by="updated_at", sort="asc", with_labels_details=True)
    requests = project.mergerequests.list(get_all=True, order_by="updated_at", sort="asc", with_labels_details=True)
    counts |= {"issues": len(issues), "merge_requests": len(requests), "discussions": 0}
    for issue in issues:
        counts["discussions"] += len(issue.discussions.list(get_all=True))
        optional(lambda: issue.links.list(get_all=True))
        if issue.merge_requests_count:
            optional(issue.related_merge_requests)
            optional(issue.closed_by)
    for request in requests:
        counts["discussions"] += len(request.discussions.list(get_all=True))
        optional(request.approvals.get)
        optional(lambda: request.closes_issues(get_all=True))
    print(f"{time.monotonic() - began:.1f} s", counts)


if __name__ == "__main__":
    main()
