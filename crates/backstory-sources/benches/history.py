#!/usr/bin/env python3
"""Compares what the bench `history` reads with what git itself says, and the time with that of git and of PyDriller.

    history.py <bench binary> <clone> [--pydriller]

For every commit that is no merge the set of (status, similarity, old path, path, ids, modes, lines) must be that of
`git log --raw -M --numstat`; for merges that of `git log --diff-merges=first-parent`.
"""
import json, os, resource, subprocess, sys, time

ENV = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "HOME": "/nonexistent",
       "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
LETTERS = {"added": "A", "modified": "M", "deleted": "D", "renamed": "R", "copied": "C", "type_changed": "T"}


def git(clone, *arguments, data=None):
    return subprocess.run(["git", "-C", clone, *arguments], env=ENV, input=data, stdout=subprocess.PIPE).stdout


def timed(commands, times=5):
    """Shortest wall time of each command, and its least processor time. They take turns, so that load is shared."""
    best = [(float("inf"), float("inf"))] * len(commands)
    for _ in range(times):
        for at, (command, data) in enumerate(commands):
            before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
            subprocess.run(command, env=ENV, input=data, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            wall, after = time.time() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
            best[at] = (min(best[at][0], wall), min(best[at][1], cpu))
    return best


def unquote(path):
    """The bytes of a printed path."""
    if not (path.startswith('"') and path.endswith('"') and len(path) > 1):
        return path.encode()
    raw, out, at = path[1:-1].encode(), bytearray(), 0
    while at < len(raw):
        if raw[at] != 92:
            out.append(raw[at]); at += 1
        elif raw[at + 1:at + 2] in (b"0", b"1", b"2", b"3"):
            out.append(int(raw[at + 1:at + 4], 8)); at += 4
        else:
            out.append(b'"\\\a\b\t\n\v\f\r'[b'"\\abtnvfr'.index(raw[at + 1])]); at += 2
    return bytes(out)


def gits(clone, tips, merges):
    """Changes by commit, as git log tells them. One process per commit that git cannot do is left out."""
    selection = ["--min-parents=2", "--diff-merges=first-parent"] if merges else ["--max-parents=1"]
    listed = git(clone, "rev-list", "--stdin", *selection[:1], data=tips).split()
    changes, broken, todo = {}, [], listed
    while todo:
        out = git(clone, "log", "--no-walk=unsorted", "--stdin", "--raw", "-M", "--numstat", "-z", "--no-abbrev", "--root",
                  "--format=%x01%H", *selection[1:], data=b"\n".join(todo))
        done = parse(out, changes)
        if done == len(todo):
            break
        # git died at the last one that it began, or before it printed it.
        for sha in todo[max(done - 1, 0):done + 1]:
            one = subprocess.run(["git", "-C", clone, "show", "--raw", "-M", "--numstat", "--format=%H", *selection[1:], sha.decode()],
                                 env=ENV, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            if one.returncode:
                broken.append(sha.decode())
                changes.pop(sha.decode(), None)
        todo = [sha for sha in todo[max(done - 1, 0):] if sha.decode() not in broken and sha.decode()]
    return changes, broken


def parse(out, changes):
    count = 0
    for block in out.split(b"\x01")[1:]:
        sha, rest = block[:40].decode(), block[40:].lstrip(b"\n\0")
        fields, found, lines, at = rest.split(b"\0"), {}, {}, 0
        while at < len(fields):
            field = fields[at].lstrip(b"\n")
            if field.startswith(b":"):
                old_mode, new_mode, old_id, new_id, status = field[1:].decode().split(" ")
                if status[0] in "RC":
                    old, path = fields[at + 1], fields[at + 2]; at += 3
                else:
                    old, path = None, fields[at + 1]; at += 2
                found[path] = (status, old, old_mode, new_mode, old_id, new_id)
            elif field.count(b"\t") == 2:
                added, removed, path = field.split(b"\t", 2)
                if path:
                    at += 1
                else:
                    path = fields[at + 2]; at += 3
                lines[path] = None if added == b"-" else (int(added), int(removed))
            else:
                at += 1
        changes[sha] = (found, lines)
        count += 1
    return count


def ours(binary, clone):
    changes = {}
    with subprocess.Popen([binary, "--dump", clone], stdout=subprocess.PIPE) as process:
        for line in process.stdout:
            commit = json.loads(line)
            found, lines = {}, {}
            for change in commit["changes"]:
                path = unquote(change["path"])
                status = LETTERS[change["status"]]
                if "similarity" in change:
                    status += f"{change['similarity']:03}"
                old, new = change.get("old"), change.get("new")
                side = lambda version: (version["mode"], version["id"]) if version else ("000000", "0" * 40)
                (old_mode, old_id), (new_mode, new_id) = side(old), side(new)
                old_path = unquote(change["old_path"]) if "old_path" in change else None
                found[path] = (status, old_path, old_mode, new_mode, old_id, new_id)
                counted = change.get("lines")
                lines[path] = (counted["insertions"], counted["deletions"]) if counted else None
            changes[commit["sha"]] = (found, lines, commit.get("incomplete"), len(commit["parents"]))
    return changes


def main():
    binary, clone = sys.argv[1:3]
    read = ours(binary, clone)
    refs = [line.split() for line in git(clone, "for-each-ref", "--format=%(refname) %(objectname) %(objecttype) %(*objectname) %(*objecttype)").splitlines()]
    wanted = lambda name: name.startswith((b"refs/heads/", b"refs/tags/")) or name.endswith(b"/head")
    tips = b"\n".join(ref[-2] for ref in refs if wanted(ref[0]) and ref[-1] == b"commit")
    listed_in_order = git(clone, "rev-list", "--stdin", "--topo-order", "--reverse", data=tips).decode().split()
    listed, expected_of = set(listed_in_order), {}
    print(f"{len(read)} commits read, git lists {len(listed)}, the same: {set(read) == listed}")
    for name, merges in [("others", False), ("merges", True)]:
        expected, broken = gits(clone, tips, merges)
        expected_of[merges] = expected
        same = [sha for sha, (found, _) in expected.items() if read[sha][0] == found]
        lines = [sha for sha in same if all(read[sha][1][path] == count or (count is None and expected[sha][0][path][4] == expected[sha][0][path][5])
                                            for path, count in expected[sha][1].items())]
        marked = sum(1 for sha in broken if read[sha][2])
        print(f"{name}: {len(expected)} compared, changes equal in {len(same)} ({len(same) / max(len(expected), 1):.4%}), "
              f"lines too in {len(lines)}; git cannot do {len(broken)}, of which {marked} are marked incomplete")
        for sha in [sha for sha in expected if sha not in same][:3]:
            print("   differs:", sha)
        for sha in [sha for sha in same if sha not in lines][:3]:
            print("   lines differ:", sha, [(p, c, read[sha][1][p]) for p, c in expected[sha][1].items() if read[sha][1][p] != c][:3])
    good = {merges: "\n".join(sha for sha in listed_in_order if sha in expected_of[merges]).encode() for merges in (False, True)}
    # git log stops at the first commit that it cannot do, so it gets the list of those that it can.
    log = ["git", "-C", clone, "log", "--no-walk=unsorted", "--stdin", "--raw", "-M", "--numstat"]
    runs = [("git log --raw -M --numstat, no merges", log, good[False]),
            ("ours, 200 words each, no merges", [binary, "--no-merges", clone], None),
            ("ours, no words, no merges", [binary, "--no-merges", clone, "2", "0"], None),
            ("git log, merges against the first parent", log + ["--diff-merges=first-parent"], good[False] + b"\n" + good[True]),
            ("ours, 200 words each", [binary, clone], None)]
    for (name, _, _), (wall, cpu) in zip(runs, timed([(command, data) for _, command, data in runs])):
        print(f"{wall:7.2f} s wall, {cpu:7.2f} s processor: {name}")
    if "--pydriller" in sys.argv:
        code = ("import sys\nfrom pydriller import Repository\nn = 0\n"
                "for commit in Repository(sys.argv[1], include_refs=True, include_remotes=True).traverse_commits():\n"
                "    try:\n        n += sum(f.added_lines + f.deleted_lines for f in commit.modified_files)\n"
                "    except Exception: pass\n")
        environment = ENV | {"HOME": "/tmp"}
        started = time.time()
        subprocess.run([sys.executable, "-c", code, clone], env=environment, stderr=subprocess.DEVNULL)
        print(f"{time.time() - started:7.2f} s wall: PyDriller, names and lines of every commit")


main()
