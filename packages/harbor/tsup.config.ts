import { libraryBuild } from '../../tsup.base.ts'

export default libraryBuild({ index: 'src/index.ts', 'harbor-to-prompts': 'src/harbor-to-prompts.ts' })
