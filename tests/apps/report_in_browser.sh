#!/usr/bin/env bash
# Usage: report_in_browser.sh KOLAM : the report of a study in headless Chromium, on a phone and on a
# screen: nothing wider than the window, no text too small to read, and a picture of it.
# Without Chromium it is skipped (77), but never where CI is set.
set -uo pipefail
kolam=$1
unset KOLAM_DATA KOLAM_DEVICES KOLAM_GEMM KOLAM_DEADLINE

chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [ -z "$chromium" ]; then
  echo "chromium is not installed, so the report was not looked at"
  [ -n "${CI:-}" ] && exit 1
  exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export HOME=$folder
failures=0
fail() {
  echo "FAILED: $1"
  failures=$((failures + 1))
}

"$kolam" study --devices 2 --width 64 --repeats 4 --batch-per-device 32 --steps 2 --warmup 1 \
  --report "$folder/report" >"$folder/out" || exit 1

# The same page, which says about itself how wide it is and how small its smallest text.
sed 's|</body>|<script>\
  const sizes = [...document.querySelectorAll("svg text")].map(\
    t => t.getBoundingClientRect().height);\
  const fonts = [...document.querySelectorAll("td, th, pre, p, .name, .value")].map(\
    e => parseFloat(getComputedStyle(e).fontSize));\
  document.title = ["seen", document.documentElement.scrollWidth, innerWidth,\
    Math.min(...sizes).toFixed(1), Math.min(...fonts).toFixed(1), sizes.length].join(" ");\
</script></body>|' "$folder/report/report.html" >"$folder/probe.html"

browse() { timeout 60 "$chromium" --headless --no-sandbox --disable-gpu --hide-scrollbars "$@" 2>/dev/null; }
for width in 390 1280; do
  title=$(browse --dump-dom --window-size="$width,1000" "file://$folder/probe.html" |
    grep -o '<title>[^<]*' | head -n 1)
  read -r seen content window axis text ticks <<<"${title#<title>}"
  if [ "$seen" != seen ]; then
    fail "at $width pixels Chromium showed nothing: $title"
    continue
  fi
  [ "$content" -le "$window" ] || fail "at $width pixels the page is $content wide"
  [ "$ticks" -ge 8 ] || fail "the plot has $ticks labels"
  awk -v a="$axis" 'BEGIN { exit !(a >= 10) }' || fail "at $width pixels labels of the plot are $axis high"
  awk -v t="$text" 'BEGIN { exit !(t >= 10) }' || fail "at $width pixels text is $text pixels"
  browse --screenshot="$folder/$width.png" --window-size="$width,1000" "file://$folder/report/report.html"
  [ "$(stat -c %s "$folder/$width.png" 2>/dev/null || echo 0)" -gt 10000 ] || fail "no picture at $width pixels"
done
exit $((failures > 0))
