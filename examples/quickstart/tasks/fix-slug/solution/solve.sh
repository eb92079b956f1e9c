#!/bin/bash
set -eu
cd "${AGENTRL_APP_DIR:-/app}"
cat > src/slug.mjs <<'EOF'
/** Makes a URL slug of at most `maxLength` characters out of a title. */
export function slug(title, { maxLength = 40 } = {}) {
  return title
    .normalize('NFD')
    .replace(/[\u0300-\u036f]/g, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
    .slice(0, maxLength)
    .replace(/-$/, '')
}
EOF
