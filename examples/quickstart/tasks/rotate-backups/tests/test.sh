#!/bin/bash
# Writes 1 to reward.txt when the project does what instruction.md asks for, else 0.
app="${AGENTRL_APP_DIR:-/app}"
tests="${AGENTRL_TESTS_DIR:-/tests}"
reward="${AGENTRL_LOGS_DIR:-/logs}/verifier/reward.txt"

mkdir -p "$(dirname "$reward")"
if node "$tests/check.mjs" "$app"; then echo 1 > "$reward"; else echo 0 > "$reward"; fi
