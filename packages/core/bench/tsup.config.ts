import { libraryBuild } from '../../../tsup.base.ts'

/** The benchmark reads what the package does not export, so it is built from sources, into .cache. */
export default libraryBuild(
  { alignment: 'src/bench/alignment.bench.ts' },
  { outDir: '.cache/bench', dts: false, sourcemap: false, splitting: false },
)
