/** What `bootstrap.mjs` can run; the steps of each are in `tasks.mjs`. */
export const taskNames = ['install', 'build', 'test', 'demo', 'test:clients', 'packages']
