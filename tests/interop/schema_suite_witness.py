#!/usr/bin/env python3
"""A witness of the schema validator: the public JSON-Schema-Test-Suite, draft 2020-12 and the two before.

Every test of every file is given to `treaty schema --ndjson`, which has to agree. It may refuse a schema only for
something that it does not claim to support, and in the files of FULL (of 2020-12) not at all. Python, since its json keeps 1.0
and large integers as they are.

The suite comes with the source distribution of the package jsonschema. TREATY_SCHEMA_SUITE names a copy of the
archive; without it the archive is fetched once and kept in build/interop. TREATY_BINARY is the binary.
"""
import collections
import hashlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BINARY = os.environ.get("TREATY_BINARY") or ROOT / "build" / "release" / "treaty"
ARCHIVE = ("https://files.pythonhosted.org/packages/b3/fc/e067678238fa451312d4c62bf6e6cf5ec56375422aee02f9cb5f909b3047/"
           "jsonschema-4.26.0.tar.gz")
SHA256 = "0c26707e2efad8aa1bfc5b7ce170f3fccc2e4918ff85989ba9ffa9facb2be326"
FOLDER = "jsonschema-4.26.0/json/tests/"
LATEST = "draft2020-12"
URI = {"draft7": "http://json-schema.org/draft-07/schema#", "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
       LATEST: "https://json-schema.org/draft/2020-12/schema"}

# Where format and content are more than annotations; and schemas of keywords that nobody has.
LEFT_OUT = ("optional/format", "optional/content", "optional/unknownKeyword")

# The files of the keywords that are claimed: here nothing may be refused.
FULL = """additionalProperties allOf anyOf boolean_schema const contains content default dependentRequired
dependentSchemas enum exclusiveMaximum exclusiveMinimum format if-then-else infinite-loop-detection items maxContains
maxItems maxLength maxProperties maximum minContains minItems minLength minProperties minimum multipleOf oneOf pattern
patternProperties prefixItems properties propertyNames required type uniqueItems optional/bignum
optional/float-overflow optional/no-schema optional/non-bmp-regex""".split()

# What is not claimed: a schema may be refused at a keyword of this name.
UNCLAIMED = {"$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveAnchor", "$recursiveRef", "$vocabulary",
             "additionalItems", "dependencies", "unevaluatedItems", "unevaluatedProperties", "unknown-keyword", "$schema"}


def archive():
    given = os.environ.get("TREATY_SCHEMA_SUITE")
    kept = pathlib.Path(given) if given else ROOT / "build" / "interop" / ARCHIVE.rpartition("/")[2]
    if not kept.exists():
        with urllib.request.urlopen(ARCHIVE, timeout=120) as answer:
            fetched = answer.read()
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(fetched)
    content = kept.read_bytes()
    if hashlib.sha256(content).hexdigest() != SHA256:
        sys.exit(f"{kept} is not the archive that was asked for; remove it and try again")
    return io.BytesIO(content)


def groups():
    """Yields (draft, file, group) for every group of tests, by file."""
    with tarfile.open(fileobj=archive()) as tar:
        for member in sorted(tar.getmembers(), key=lambda one: one.name):
            draft, _, name = member.name.removeprefix(FOLDER).removesuffix(".json").partition("/")
            if not member.isfile() or draft not in URI or name.startswith(LEFT_OUT):
                continue
            for group in json.load(tar.extractfile(member)):
                if isinstance(group["schema"], dict):
                    group["schema"].setdefault("$schema", URI[draft])
                yield draft, name, group


def judged(pairs):
    """The verdicts on (schema, data) pairs."""
    lines = "".join(json.dumps({"schema": schema, "data": data}) + "\n" for schema, data in pairs)
    ran = subprocess.run([BINARY, "schema", "--ndjson"], input=lines.encode(), capture_output=True, timeout=600,
                         check=False)
    verdicts = [json.loads(line) for line in ran.stdout.splitlines()]
    if ran.returncode not in (0, 1) or len(verdicts) != len(pairs):
        sys.exit(f"treaty schema --ndjson: exit {ran.returncode}, {len(verdicts)} verdicts on {len(pairs)} lines\n"
                 f"{ran.stderr.decode()}")
    return verdicts


def at(schema, pointer):
    for token in pointer.split("/")[1:]:
        token = token.replace("~1", "/").replace("~0", "~")
        schema = schema[int(token)] if isinstance(schema, list) else schema[token]
    return schema


def may_refuse(schema, verdict):
    where, last = verdict["where"], verdict["where"].rpartition("/")[2]
    if last in UNCLAIMED or (last == "$id" and where != "/$id"):
        return True
    if last == "$ref":  # To another document, or to an anchor.
        return at(schema, where) != "#" and not at(schema, where).startswith("#/")
    if last == "items":
        return isinstance(at(schema, where), list)
    return "\\p" in last or (last == "pattern" and "\\p" in at(schema, where))


def main():
    tests = [(draft, file, group, test) for draft, file, group in groups() for test in group["tests"]]
    verdicts = judged([(group["schema"], test["data"]) for _, _, group, test in tests])
    agreed, refused, failed = collections.Counter(), collections.Counter(), 0
    for (draft, file, group, test), verdict in zip(tests, verdicts):
        name = f"{draft}/{file}: {group['description']}: {test['description']}"
        if "refused" in verdict:
            refused[draft, file] += 1
            if (draft == LATEST and file in FULL) or not may_refuse(group["schema"], verdict):
                failed += 1
                print(f"failed: {name}: refused at {verdict['where']}: {verdict['refused']}")
        elif verdict["valid"] != test["valid"]:
            failed += 1
            print(f"failed: {name}: expected {test['valid']}, got {json.dumps(verdict)}")
        else:
            agreed[draft, file] += 1
    for file in FULL:
        if agreed[LATEST, file] == 0:
            failed += 1
            print(f"failed: no test of {file} was run")
    print("schemas refused for what is not claimed:")
    for draft, file in sorted(refused):
        print(f"  {draft + '/' + file:48} {agreed[draft, file]:4} agreed, {refused[draft, file]:4} refused")
    claimed = sum(agreed[LATEST, file] for file in FULL)
    print(f"schema suite: {agreed.total()} agreed ({claimed} of {LATEST} in the {len(FULL)} files of claimed keywords), "
          f"{refused.total()} refused, {failed} failed")
    return 1 if failed or claimed < 800 else 0


if __name__ == "__main__":
    sys.exit(main())
