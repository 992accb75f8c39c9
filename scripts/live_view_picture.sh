#!/usr/bin/env bash
# Draws docs/images/live-view.webp, the picture of the live page in README.md: a video with repair beside one without.
#
# Usage: scripts/live_view_picture.sh [WHIMBREL]   (from the repository's root; needs chromium and ffmpeg)
set -eu
whimbrel=${1:-target/release/whimbrel}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$whimbrel" run examples/scenarios/repaired.toml --quiet --watch "$folder/page.html" >/dev/null
chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1400,1000 --virtual-time-budget=5000 \
  --user-data-dir="$folder/profile" --screenshot="$folder/page.png" "file://$folder/page.html#t=15&beside=1" 2>/dev/null
ffmpeg -v error -y -i "$folder/page.png" -quality 80 docs/images/live-view.webp
