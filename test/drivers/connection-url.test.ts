import { expect, test } from 'vitest'
import {
  parameterOf,
  urlsByHost,
  withoutPassword,
  withParameters,
} from '../../src/database/drivers/connection-url.ts'
import { InvalidOptionError } from '../../src/errors.ts'

test.each([
  ['postgres://h/db', ['postgres://h/db']],
  ['postgres://u:p@a:1,b:2/db?x=y', ['postgres://u:p@a:1/db?x=y', 'postgres://u:p@b:2/db?x=y']],
  ['postgres://u:p@,@a,b/db', ['postgres://u:p@,@a/db', 'postgres://u:p@,@b/db']],
  ['postgres://[::1]:1,[::2]:2/db', ['postgres://[::1]:1/db', 'postgres://[::2]:2/db']],
  [
    'postgres://a,b?target_session_attrs=primary',
    ['postgres://a?target_session_attrs=primary', 'postgres://b?target_session_attrs=primary'],
  ],
  ['postgres:///db?host=/tmp', ['postgres:///db?host=/tmp']],
])('the hosts of %s', (url, hosts) => {
  expect(urlsByHost(url)).toEqual(hosts)
})

test.each(['read-only', 'standby', 'prefer-standby'])(
  'target_session_attrs=%s is refused',
  (attributes) => {
    const url = `postgres://a,b/db?target_session_attrs=${attributes}`
    expect(() => urlsByHost(url)).toThrow(InvalidOptionError)
  },
)

test('parameters are set, replaced and removed, and nothing else is touched', () => {
  const url = 'postgres://ü:p%40ss@h:5432/a%20b?sslmode=require&options=-c%20a%3Db&query_timeout=1'
  const changed = withParameters(url, {
    options: '-c a=b -c c=d\\ e',
    query_timeout: undefined,
    x: '1',
  })
  expect(changed.split('?')[0]).toBe('postgres://ü:p%40ss@h:5432/a%20b')
  expect(parameterOf(changed, 'options')).toBe('-c a=b -c c=d\\ e')
  expect(parameterOf(changed, 'sslmode')).toBe('require')
  expect(parameterOf(changed, 'query_timeout')).toBeUndefined()
  expect(withParameters('postgres://h/db?x=1', { x: undefined })).toBe('postgres://h/db')
})

test.each([
  ['postgres://u:geheim@h/db', 'postgres://u:***@h/db'],
  ['postgres://u:ge@heim@h/db', 'postgres://u:***@h/db'],
  ['postgres://h/db?user=u&password=geheim&x=1', 'postgres://h/db?user=u&password=***&x=1'],
  ['postgres://u@h/db', 'postgres://u@h/db'],
  ['postgres://h:5432/db', 'postgres://h:5432/db'],
  ['./data', './data'],
  ['mysql://u:ge/heim@h/db', 'mysql://u:***@h/db'],
  ['postgres://u:ge?he#im@h/db', 'postgres://u:***@h/db'],
  ['u:geheim@h:5432/db', 'u:***@h:5432/db'],
  ['host=h user=u password=geheim', 'host=h user=u password=***'],
  ["host=h PASSWORD = 'ge heim' user=u", 'host=h PASSWORD = *** user=u'],
])('%s is shown as %s', (url, shown) => {
  expect(withoutPassword(url)).toBe(shown)
})
