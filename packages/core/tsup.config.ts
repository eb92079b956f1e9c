import { libraryBuild } from '../../tsup.base.ts'

export default libraryBuild({
  'render/index': 'src/render/index.ts',
  'tokenizers/index': 'src/tokenizers/index.ts',
})
