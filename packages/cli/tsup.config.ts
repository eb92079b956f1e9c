import { libraryBuild } from '../../tsup.base.ts'

export default libraryBuild({ main: 'src/main.ts' }, { dts: false })
