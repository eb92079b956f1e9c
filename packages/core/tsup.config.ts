import { libraryBuild } from '../../tsup.base.ts'

export default libraryBuild({
  'render/index': 'src/render/index.ts',
  'testing/index': 'src/testing/index.ts',
  'tokenizers/index': 'src/tokenizers/index.ts',
  'transformers/index': 'src/transformers/index.ts',
})
