#!/bin/bash
set -eu
cd "${AGENTRL_APP_DIR:-/app}"
cat > rotate.sh <<'EOF'
#!/bin/bash
# Keeps the newest KEEP backups of FOLDER and deletes the older ones.
# Usage: rotate.sh FOLDER KEEP
set -eu

folder=$1
keep=$2

cd "$folder"
for backup in backup-[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9].tar; do
  if [ -e "$backup" ]; then echo "$backup"; fi
done | sort -r | tail -n +$((keep + 1)) | while IFS= read -r backup; do
  rm -- "$backup"
  echo "deleted $backup"
done
EOF
