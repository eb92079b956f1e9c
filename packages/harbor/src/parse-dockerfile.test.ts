import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseDockerfile } from './parse-dockerfile.ts'

const lines = (...texts: string[]): string => texts.join('\n')

describe('the folder of the last stage', () => {
  test.each([
    ['the last WORKDIR counts', lines('FROM a', 'WORKDIR /x', 'workdir /y'), '/y'],
    ['a relative WORKDIR joins', lines('FROM a', 'WORKDIR /x', 'WORKDIR y/../z'), '/x/z'],
    ['a relative WORKDIR alone starts at the root', lines('FROM a', 'WORKDIR y'), '/y'],
    ['FROM starts anew', lines('FROM a', 'WORKDIR /x', 'FROM b'), null],
    ['a stage on an earlier stage starts in its folder', lines('FROM a AS One', 'WORKDIR /x', 'FROM one'), '/x'],
    ['quotes are no part of it', lines('FROM a', 'WORKDIR "/my app"'), '/my app'],
    ['a folder may hold spaces', lines('FROM a', 'WORKDIR /my app'), '/my app'],
    ['ENV is expanded', lines('FROM a', 'ENV HOME=/h', 'WORKDIR ${HOME}/x'), '/h/x'],
    ['ARG is expanded, with its default', lines('FROM a', 'ARG AT=/h', 'WORKDIR $AT'), '/h'],
    ['a global ARG counts once it is declared', lines('ARG AT=/h', 'FROM a', 'ARG AT', 'WORKDIR $AT'), '/h'],
    ['a global ARG does not count undeclared', lines('ARG AT=/h', 'FROM a', 'WORKDIR $AT'), null],
    ['a default of the reference counts', lines('FROM a', 'WORKDIR ${AT:-/d}'), '/d'],
    ['an alternative counts where the variable is set', lines('FROM a', 'ENV B=1', 'WORKDIR /w${B:+x}'), '/wx'],
    ['a variable of the base image is not known', lines('FROM a', 'WORKDIR $HOME'), null],
    ['below an unknown folder nothing is known', lines('FROM a', 'WORKDIR $HOME', 'WORKDIR x'), null],
    ['an absolute folder ends that', lines('FROM a', 'WORKDIR $HOME', 'WORKDIR /x'), '/x'],
    ['a name of the language is a name', lines('FROM a', 'WORKDIR /$constructor'), null],
    ['comments and continued lines are read', lines('FROM a', '# WORKDIR /no', 'WORKDIR \\', '# no', '', '/x'), '/x'],
    ['a heredoc is text', lines('FROM a', 'WORKDIR /x', 'RUN cat <<EOF > f', 'WORKDIR /no', 'EOF'), '/x'],
    ['a heredoc with tabs and quotes is text', lines('FROM a', 'RUN <<-"E"', 'WORKDIR /no', '\tE', 'WORKDIR /x'), '/x'],
    ['a shift in a command opens no heredoc', lines('FROM a', 'RUN echo $((1<<A))', 'WORKDIR /x'), '/x'],
    ['an escape directive moves the continuation', lines('# escape=`', 'FROM a', 'WORKDIR `', '/x'), '/x'],
    ['CR LF ends lines', 'FROM a\r\nWORKDIR /x\r\n', '/x'],
  ])('%s', (_, source, workdir) => {
    expect(parseDockerfile(source)?.workdir).toBe(workdir)
  })
})

describe('the image below', () => {
  test.each([
    ['flags and labels are no part of it', 'FROM --platform=linux/amd64 a/b:1 AS x', 'a/b:1'],
    ['a global ARG with a default names it', lines('ARG V=3', 'FROM python:${V}-slim'), 'python:3-slim'],
    ['an ARG without a default leaves it unknown', lines('ARG V', 'FROM python:$V'), null],
    ['scratch is no image', 'FROM scratch', null],
    ['the base of the stage below counts', lines('FROM a AS one', 'FROM one'), 'a'],
    ['a digest is part of it', 'FROM a@sha256:0123', 'a@sha256:0123'],
  ])('%s', (_, source, base) => {
    expect(parseDockerfile(source)?.base).toBe(base)
  })

  test('a file without FROM is no Dockerfile', () => {
    expect(parseDockerfile('# nothing\nARG X=1\n')).toBeNull()
  })
})

describe('replaying without a build', () => {
  test('ENV in both spellings is read', () => {
    const source = lines(
      'FROM a',
      'ENV A=1',
      'ENV A=2 B=\'two words\' C="$A$A" D=a\\ b',
      'ENV LEGACY  "x y"  z ',
      'ENV E ${A:-9}',
    )
    const env = { A: '2', B: 'two words', C: '11', D: 'a b', LEGACY: 'x y  z', E: '2' }
    expect(parseDockerfile(source)).toMatchObject({ env, buildInstruction: null })
  })

  test('COPY of plain paths is read, relative to the folder at that place', () => {
    const source = lines(
      'FROM a',
      'COPY x /x',
      'WORKDIR /app',
      'COPY ./p/ ./',
      'COPY a.txt b.txt d',
      'COPY ["s t", "u"]',
    )
    expect(parseDockerfile(source)).toMatchObject({
      copies: [
        { source: 'x', target: '/x' },
        { source: 'p/', target: '/app/' },
        { source: 'a.txt', target: '/app/d/' },
        { source: 'b.txt', target: '/app/d/' },
        { source: 's t', target: '/app/u' },
      ],
      buildInstruction: null,
    })
  })

  test('what leaves no trace in files or environment is passed over', () => {
    const source = lines('FROM a', 'LABEL a=b', 'EXPOSE 80', 'CMD ["x"]', 'STOPSIGNAL 9', 'MAINTAINER x')
    expect(parseDockerfile(source)).toEqual({ base: 'a', workdir: null, env: {}, copies: [], buildInstruction: null })
  })

  test.each([
    'RUN make',
    'USER agent',
    'ENTRYPOINT ["serve"]',
    'ADD https://example.org/x /x',
    'COPY --from=build /x /x',
    'COPY *.txt /x/',
    'COPY ../outside /x',
    'COPY x y',
    'COPY $UNKNOWN /x',
    'COPY <<EOF /x',
    'ENV PATH=/opt/bin:$PATH',
    'ENV NO-EQUALS-SIGN',
    'HEALTHCHECK CMD true',
    'VOLUME /x',
  ])('%s takes a build', (instruction) => {
    expect(parseDockerfile(lines('FROM a', instruction))?.buildInstruction).toBe(instruction)
  })

  test('the first instruction that takes a build is named', () => {
    expect(parseDockerfile(lines('FROM a', 'RUN one', 'RUN two'))?.buildInstruction).toBe('RUN one')
  })

  test('a backslash between double quotes escapes only quotes, dollars and itself', () => {
    const source = lines('FROM a', String.raw`ENV A="a\b \"\$\\" B='a\b' C=a\b`)
    expect(parseDockerfile(source)?.env).toEqual({ A: 'a\\b "$\\', B: String.raw`a\b`, C: 'ab' })
  })

  test('a stage has the environment and the files of the stage below, and leaves that one as it is', () => {
    const below = lines('FROM a AS one', 'ENV A=/one', 'COPY x $A/')
    const source = lines(below, 'FROM one AS two', 'ENV A=/two', 'COPY y $A/', 'FROM one', 'WORKDIR $A')
    expect(parseDockerfile(source)).toMatchObject({
      workdir: '/one',
      env: { A: '/one' },
      copies: [{ source: 'x', target: '/one/' }],
    })
  })

  test('a stage takes a build if the stage below does', () => {
    expect(parseDockerfile(lines('FROM a AS one', 'RUN make', 'FROM one'))?.buildInstruction).toBe('RUN make')
  })
})

test('no text makes the parser throw', () => {
  const word = fc.constantFrom(
    'FROM',
    'a',
    ' ',
    '\n',
    '\\',
    '$',
    '{',
    '}',
    ':-',
    "'",
    '"',
    '<<E',
    'ENV',
    'COPY',
    '[',
    '=',
  )
  fc.assert(fc.property(fc.array(word), (words) => void parseDockerfile(words.join(''))))
})
