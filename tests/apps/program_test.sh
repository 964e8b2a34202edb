#!/usr/bin/env bash
# Usage: program_test.sh KOLAM SANITIZED : runs the program as a user would, with right and wrong
# input. SANITIZED is yes or no.
set -uo pipefail
kolam=$1
sanitized=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0
unset KOLAM_DATA KOLAM_DEVICES KOLAM_GEMM KOLAM_DEADLINE

fail() {
  echo "FAILED: $1"
  failures=$((failures + 1))
}

# expect CODE TEXT COMMAND... : exit code, and TEXT in the one line on standard error.
expect() {
  local code=$1 text=$2
  shift 2
  "$@" >"$folder/out" 2>"$folder/err"
  local found=$?
  [ "$found" = "$code" ] || fail "$* returned $found, expected $code: $(cat "$folder/err")"
  grep -qF -- "$text" "$folder/err" || fail "$* did not say \"$text\": $(cat "$folder/err")"
  [ "$(wc -l <"$folder/err")" = 1 ] || fail "$* wrote other than one line: $(cat "$folder/err")"
}

# A data set of 64 examples of 4 x 4 pixels in 10 classes, in raw IDX files.
bytes() { printf "%b" "$(printf '\\x%02x' "$@")"; }
make_data() {
  mkdir -p "$1"
  { bytes 0 0 8 3 0 0 0 64 0 0 0 4 0 0 0 4; head -c 1024 /dev/zero | tr '\0' '\17'; } >"$1/train-images-idx3-ubyte"
  { bytes 0 0 8 1 0 0 0 64; for i in $(seq 0 63); do bytes $((i % 10)); done; } >"$1/train-labels-idx1-ubyte"
}
make_data "$folder/data"
cp "$folder/data/train-images-idx3-ubyte" "$folder/data/t10k-images-idx3-ubyte"
cp "$folder/data/train-labels-idx1-ubyte" "$folder/data/t10k-labels-idx1-ubyte"
train=(--data "$folder/data" --epochs 1 --save none)
tiny=(--data "$folder/data" --width 16 --repeats 2 --batch-per-device 4 --batches 2 --warmup 1
  --steps 2 --measurements 1)

# Help fits a screen.
for command in "" devices study train; do
  # shellcheck disable=SC2086
  lines=$("$kolam" $command --help | wc -l)
  [ "$lines" -le 40 ] || fail "kolam $command --help has $lines lines"
  # shellcheck disable=SC2086
  "$kolam" $command --help | grep -q 'Example: kolam' || fail "kolam $command --help has no example"
done
"$kolam" --version | grep -qE '^kolam [0-9]+\.[0-9]+\.[0-9]+$' || fail "kolam --version"

# Wrong command lines.
expect 2 "--help" "$kolam"
expect 2 "\"dance\" is no command; expected devices, study or train" "$kolam" dance
expect 2 "--repeat" "$kolam" study --repeat 3
for token in 0,001 0.001x nan inf 1e400 "" " 1"; do
  expect 2 "--learning-rate is \"$token\"" "$kolam" study --learning-rate "$token"
done
expect 2 "--learning-rate is \"-1\"" "$kolam" study --learning-rate=-1
expect 2 "--steps is \"0\"" "$kolam" study --steps 0
expect 2 "--width is \"1.5\"" "$kolam" study --width 1.5
expect 2 "--devices is \"0\"" "$kolam" study --devices 0
expect 2 "--devices is \"4097\"" "$kolam" study --devices 4097
expect 2 "--preset is \"huge\"" "$kolam" study --preset huge
expect 2 "--memory-limit is \"lots\"" "$kolam" study --memory-limit lots
expect 2 "KOLAM_DEVICE is not one of kolam's" env KOLAM_DEVICE=2 "$kolam" study
expect 2 "KOLAM_GEMM is \"mkl\"" env KOLAM_GEMM=mkl "$kolam" devices
expect 2 "--report" "$kolam" study "${tiny[@]}" --report "$folder/data/train-labels-idx1-ubyte"

# Numbers are read and written with a dot under every locale.
LC_ALL=de_DE.UTF-8 "$kolam" study "${tiny[@]}" --devices 2 --learning-rate 1e-3 >"$folder/out" 2>/dev/null
grep -qF 'learning rate 0.001' "$folder/out" || fail "a comma locale changed a number"

# One device is no study; its table is shown all the same.
expect 2 "--devices 2" "$kolam" study "${tiny[@]}" --devices 1
grep -q '^Devices' "$folder/out" || fail "the devices were not shown"

# Missing, damaged and swapped data.
mkdir "$folder/empty"
expect 1 "$folder/empty" "$kolam" study --data "$folder/empty"
expect 1 "$folder/absent" "$kolam" study --data "$folder/absent"
make_data "$folder/swapped"
mv "$folder/swapped/train-images-idx3-ubyte" "$folder/swapped/x"
mv "$folder/swapped/train-labels-idx1-ubyte" "$folder/swapped/train-images-idx3-ubyte"
mv "$folder/swapped/x" "$folder/swapped/train-labels-idx1-ubyte"
expect 1 "swapped" "$kolam" study --data "$folder/swapped"
make_data "$folder/short"
truncate -s -1 "$folder/short/train-images-idx3-ubyte"
expect 1 "train-images-idx3-ubyte" "$kolam" study --data "$folder/short" --report "$folder/never"
[ -e "$folder/never/results.json" ] && fail "results.json was written for damaged data"
make_data "$folder/hostile"
bytes 0 0 8 3 0 1 0 0 1 0 0 0 1 0 0 0 >"$folder/hostile/train-images-idx3-ubyte"
# A sanitizer reserves more address space than this for itself.
[ "$sanitized" = yes ] || expect 1 "train-images-idx3-ubyte" bash -c "ulimit -v 300000; exec '$kolam' study --data '$folder/hostile'"

# Sizes that do not fit.
expect 1 "the data set has 64" "$kolam" study "${tiny[@]}" --devices 2 --batches 100
expect 1 "classes" "$kolam" study "${tiny[@]}" --devices 2 --classes 9
expect 1 "device memory" "$kolam" study "${tiny[@]}" --devices 2 --width 512 --memory-limit 1M

# A whole study on more devices than most machines have cores.
"$kolam" study "${tiny[@]}" --classes 12 --devices 3 --report "$folder/report" >"$folder/out" 2>"$folder/err" ||
  fail "the tiny study failed: $(cat "$folder/err")"
for section in Devices Workload "One device" Mesh Placement "3 devices, automatic" Comparison \
  "3 devices, explicit" "Automatic against explicit" "Collectives of one step" \
  "Memory per device" "Batch sweep on 3 devices"; do
  grep -q "^$section" "$folder/out" || fail "the study did not show \"$section\""
done
grep -q $'\033' "$folder/out" && fail "control sequences in a file"
python3 - "$folder" <<'PYTHON' || fail "results.json does not match the output"
import json, sys
folder = sys.argv[1]
results = json.load(open(folder + "/report/results.json"))
shown = open(folder + "/out").read()
for run in ("baseline", "automatic", "explicit"):
    assert "%.4f" % results[run]["final_loss"] in shown, run
    assert "%.1f %%" % (100 * results[run]["final_accuracy"]) in shown, run
for run in ("automatic", "explicit"):
    assert results[run]["parameter_digest"][:16] in shown, run
assert " ".join(results["comparison"]["message"].split()) in " ".join(shown.split())
assert results["workload"]["batch_per_device"] == 4
assert len(results["devices"]) == 3
PYTHON

# Training: every option that means nothing is refused, and so is a place that cannot be written.
expect 2 "--hidden means nothing here" "$kolam" train "${train[@]}" --hidden 8
expect 2 "--momentum means nothing here" "$kolam" train "${train[@]}" --momentum 0.5
expect 2 "\"adagrad\"; expected adamw, adam or sgd" "$kolam" train "${train[@]}" --optimizer adagrad
expect 2 "\"0,001\"" "$kolam" train "${train[@]}" --learning-rate 0,001
expect 2 "\"8,\"" "$kolam" train "${train[@]}" --model mlp --hidden "8,"
expect 2 "no file can be written there" "$kolam" train "${train[@]}" --save "$folder/missing/model"
expect 1 "training diverged" "$kolam" train "${train[@]}" --model mlp --optimizer sgd \
  --learning-rate 1e6 --momentum 0 --hidden 64,64,64,64 --epochs 200 --save "$folder/diverged"
[ -e "$folder/diverged" ] && fail "a diverged model was saved"

# More devices than examples in the last batch; text, JSON, and the same parameters from both.
mlp=("${train[@]}" --model mlp --hidden 8 --batch 9 --epochs 2 --devices 3)
"$kolam" train "${mlp[@]}" --save "$folder/text.safetensors" >"$folder/out" 2>"$folder/err" ||
  fail "training failed: $(cat "$folder/err")"
[ "$(grep -c '^epoch [12]/2 ' "$folder/out")" = 2 ] || fail "not one line per epoch: $(cat "$folder/out")"
grep -q $'\r' "$folder/out" && fail "a progress bar in a file"
"$kolam" train "${mlp[@]}" --json --save "$folder/json.safetensors" >"$folder/out" 2>/dev/null ||
  fail "training with --json failed"
python3 - "$folder" <<'PYTHON' || fail "the lines of JSON are not as documented"
import json, sys
events = [json.loads(line) for line in open(sys.argv[1] + "/out")]
assert [e["event"] for e in events] == ["start", "epoch", "epoch", "saved"], events
assert events[0]["devices"] == 3 and events[0]["global_batch"] == 9
for epoch in events[1:3]:
    assert epoch["test_examples"] == 64 and 0 <= epoch["test_accuracy"] <= 1
ratio = events[3]["peak_bytes_per_device"] / events[0]["estimated_bytes_per_device"]
assert 0.8 < ratio < 1.3, ratio
PYTHON
cmp -s "$folder/text.safetensors" "$folder/json.safetensors" || fail "two runs saved different files"
head -c 8 "$folder/text.safetensors" | od -An -tu8 | grep -q '[0-9]' || fail "no header"
# Python's own package reads it, where it is installed.
python3 -c 'import safetensors, numpy' 2>/dev/null &&
  { python3 "$(dirname "$0")/../core/io/read_with_python.py" "$folder/text.safetensors" |
    grep -q '^w_0 float32 \[16, 8\]' || fail "Python does not read the file"; }

# Two runs with the same seed end with the same bits; f64 and explicit too.
digests() {
  "$kolam" study "${tiny[@]}" --devices 2 "$@" 2>/dev/null | awk '/^Automatic/{on = 1} /^Collectives/{on = 0} on && /^  (automatic|explicit) /{print $NF}'
}
first=$(digests --precision f64)
[ "$(wc -w <<<"$first")" = 2 ] || fail "no digests were shown: $first"
[ "$first" = "$(digests --precision f64)" ] || fail "two runs gave different digests"
[ "$(sort -u <<<"$first" | wc -l)" = 1 ] || fail "automatic and explicit differ on 2 devices"
[ "$first" = "$(digests --precision f64 --seed 2)" ] && fail "another seed gave the same digest"

[ "$failures" = 0 ] && echo "all as expected"
exit "$((failures > 0))"
