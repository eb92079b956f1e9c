/** Settings of npm that say how to reach packages; all other `npm_*` variables are npm's own. */
const keptSettings = /^npm_config_(registry|https?_proxy|proxy|noproxy|cafile|ca|strict_ssl|cache|userconfig|offline)$/

/** What npm and pnpm set for the scripts that they run. Capitals (`NPM_TOKEN`) are the user's. */
const scriptVariables = /^(p?npm_|PNPM_SCRIPT_SRC_DIR$|PNPM_PACKAGE_NAME$|INIT_CWD$)/

/** The environment without what npm and pnpm set for scripts: it would reach nested installs and tests. */
export function cleanEnvironment(env) {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => !scriptVariables.test(name) || keptSettings.test(name)),
  )
}
