import { libraryBuild } from '../../tsup.base.ts'

export default libraryBuild({ index: 'src/index.ts', 'export/index': 'src/export/index.ts' })
