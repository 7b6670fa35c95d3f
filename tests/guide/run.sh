#!/usr/bin/env bash
# Follows docs/guide.md as a newcomer would: clones the last commit into a temporary folder, builds the program
# there, and types every command of the guide into terminals. What a command shows is compared with what the
# guide says. What is not committed is not seen.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# The clone shares the servers that were fetched already.
export PIPELINE_CACHE=${PIPELINE_CACHE:-$PWD/.cache}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

git clone --quiet --no-hardlinks . "$folder/pipeline"
cd "$folder/pipeline"
PIPELINE_TEST_REQUIRE_SERVERS=1 PIPELINE_GUIDE_CLONE=$PWD go test -count=1 -v -run '^TestGuide$' ./tests/guide
