/**
 * The direction of imports, as drawn in docs/architecture/packages.md.
 * A package may import only the packages listed beside it.
 */
const mayImport = {
  spec: [],
  'tool-calls': ['spec'],
  metrics: ['spec'],
  microbatch: ['spec'],
  harbor: ['spec'],
  sandbox: ['spec'],
  core: ['spec', 'tool-calls'],
  harnesses: ['spec', 'sandbox'],
  buffer: ['spec'],
  inspector: ['spec', 'metrics'],
  launch: ['spec'],
  rollout: ['spec', 'core', 'harnesses', 'buffer', 'sandbox', 'harbor', 'metrics'],
}

const testFiles = '\\.(test|bench)\\.ts$'

const directions = Object.entries(mayImport).map(([name, allowed]) => ({
  name: `${name}-imports-downwards`,
  severity: 'error',
  from: { path: `^packages/${name}/src`, pathNot: testFiles },
  to: {
    path: '^packages/',
    pathNot: [`^packages/${name}/`, ...allowed.map((other) => `^packages/${other}/`)],
  },
}))

/** The folders that touch no file, socket, process, clock or random source. */
const pureSources = '^packages/(spec|tool-calls|metrics|microbatch)/src|^packages/core/src/alignment'

module.exports = {
  forbidden: [
    ...directions,
    {
      name: 'no-circular',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'not-to-unresolvable',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'pure-packages-reach-no-platform',
      severity: 'error',
      from: { path: pureSources, pathNot: `${testFiles}|\\.proof\\.ts$` },
      to: { dependencyTypes: ['core', 'npm', 'npm-dev', 'npm-peer', 'npm-optional'], pathNot: '^packages/' },
    },
    {
      name: 'core-root-entry-reaches-only-pure-code',
      severity: 'error',
      from: { path: '^packages/core/src/index\\.ts$' },
      to: {
        reachable: true,
        path: '^node:|node_modules/(?!@agentrl)|^(fs|path|http|net|crypto|stream|os|child_process)$',
      },
    },
    {
      name: 'no-test-code-in-sources',
      severity: 'error',
      from: { path: '^packages/[^/]+/src', pathNot: `${testFiles}|__fixtures__` },
      to: { path: testFiles },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules|dist' },
    exclude: { path: '(^|/)(dist|__fixtures__)/|tsup\\.config\\.ts$' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['@agentrl/source', 'import', 'node', 'default', 'types'],
    },
  },
}
