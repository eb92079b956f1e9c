import { libraryBuild } from '../../tsup.base.ts'

export default libraryBuild({
  index: 'src/index.ts',
  docker: 'src/docker/index.ts',
  e2b: 'src/e2b/index.ts',
  kubernetes: 'src/kubernetes/index.ts',
  testing: 'src/testing/index.ts',
})
