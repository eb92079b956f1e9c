#!/bin/bash
# Keeps the newest KEEP backups of FOLDER and deletes the older ones.
# Usage: rotate.sh FOLDER KEEP
set -eu

folder=$1
keep=$2

for backup in $(ls "$folder" | sort | tail -n +"$keep"); do
  rm "$folder/$backup"
  echo "deleted $backup"
done
