#!/usr/bin/env bash
# Draws docs/images/live-view.webp, the picture of the live page in README.md: a simulated handover, some seconds after it.
#
# Usage: scripts/live_view_picture.sh [WHIMBREL]   (from the repository's root; needs chromium and ImageMagick's convert)
set -eu
whimbrel=${1:-target/release/whimbrel}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$whimbrel" run examples/scenarios/handoff.toml --quiet --watch "$folder/handoff.html" >/dev/null
chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1400,1150 --virtual-time-budget=5000 \
  --user-data-dir="$folder/profile" --screenshot="$folder/handoff.png" "file://$folder/handoff.html#t=TIME" 2>/dev/null
convert "$folder/handoff.png" -quality 80 docs/images/live-view.webp
