import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadConfig } from '../src/load-config.mjs'

test('files are read, merged and expanded', () => {
  const defaults = '[server]\nhost = localhost\nport = 8080\ndebug = on\nurl = "http://${server.host}:${server.port}/"'
  const local = 'name = "My #1 service"\n[server]\nhost = alpha\ndebug = off'
  assert.deepEqual(loadConfig([defaults, local]), {
    name: 'My #1 service',
    server: { host: 'alpha', port: 8080, debug: false, url: 'http://alpha:8080/' },
  })
})
