#!/usr/bin/env python3
"""Compares the definitions that the benchmark `code` found with those of universal-ctags.

    cargo bench -p backstory-sources --bench code -- DIRECTORY --definitions FOUND
    python3 compare_with_ctags.py DIRECTORY FOUND [--show N] [--time]

It prints how many functions and types of universal-ctags were found, by language, and what is missing. A definition is
found if the file has an entity of its name at most two lines away.
"""

import argparse
import collections
import json
import os
import resource
import subprocess
import sys
import tempfile

# Kinds that are functions or types; names differ by language.
WANTED = {
    "function", "method", "func", "class", "struct", "enum", "union", "interface", "trait", "typedef", "type",
    "talias", "implementation", "macro", "module", "namespace", "singletonMethod", "generator", "alias", "record",
}
LEFT_OUT = {("Rust", "implementation"), ("Python", "module"), ("Python", "namespace")}


def is_no_definition(tag):
    """Imports under another name, modules in files of their own, and include guards and switches without a value."""
    line = tag.get("pattern", "").strip("/^$").strip()
    kind = tag.get("kind")
    if kind == "alias":
        return not line.startswith(("type ", "export type ", "declare type ", "export declare type "))
    if kind == "module":
        return line.endswith(";")
    return kind == "macro" and line.startswith("#") and len(line.replace("# ", "#").split()) == 2 and "(" not in line


def definitions_of(file):
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for row in open(file, encoding="utf-8"):
        path, line, _, name = row.rstrip("\n").split("\t")[:4]
        found[path][name].append(int(line))
    return found


def tags_of(directory, paths, timed):
    with tempfile.NamedTemporaryFile("w", suffix=".files") as listed:
        listed.write("\n".join(paths) + "\n")
        listed.flush()
        command = ["ctags", "--fields=+nKl", "--output-format=json", "-f", "-", "-L", listed.name]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        out = subprocess.run(command, cwd=directory, capture_output=True, check=True).stdout
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if timed:
        seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        print(f"universal-ctags: {len(paths)} files in {seconds:.3f} s of processor time")
    for line in out.decode("utf-8", "replace").splitlines():
        yield json.loads(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory")
    parser.add_argument("found")
    parser.add_argument("--show", type=int, default=20)
    parser.add_argument("--time", action="store_true")
    arguments = parser.parse_args()
    found = definitions_of(arguments.found)
    paths = sorted(path for path in found if os.path.exists(os.path.join(arguments.directory, path)))
    total, hit, missing = collections.Counter(), collections.Counter(), []
    for tag in tags_of(arguments.directory, paths, arguments.time):
        language, kind = tag.get("language", "?"), tag.get("kind", "?")
        name = tag["name"].strip()
        if kind not in WANTED or (language, kind) in LEFT_OUT or name.startswith(("__anon", "anonymous", "Anonymous")):
            continue
        if is_no_definition(tag):
            continue
        key = f"{language} {kind}"
        total[key] += 1
        if any(abs(line - tag["line"]) <= 2 for line in found[tag["path"]].get(name, [])):
            hit[key] += 1
        else:
            missing.append((key, f"{tag['path']}:{tag['line']}", name))
    for key in sorted(total):
        print(f"{key:32} {hit[key]:6} of {total[key]:6}  {100 * hit[key] / total[key]:6.2f} %")
    print(f"{'all':32} {sum(hit.values()):6} of {sum(total.values()):6}  {100 * sum(hit.values()) / max(1, sum(total.values())):6.2f} %")
    for key, place, name in missing[: arguments.show]:
        print(f"missing: {key}: {place} {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
