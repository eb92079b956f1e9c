import { libraryBuild } from '../../tsup.base.ts'

export default libraryBuild({
  index: 'src/index.ts',
  'render/index': 'src/render/index.ts',
  'tokenizers/index': 'src/tokenizers/index.ts',
  'transformers/index': 'src/transformers/index.ts',
  'engines/index': 'src/engines/index.ts',
  'adapter/index': 'src/adapter/index.ts',
  'testing/index': 'src/testing/index.ts',
})
