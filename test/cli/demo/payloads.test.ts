import { expect, test } from 'vitest'
import { MissingPayloadsError, readDeliveries } from '../../../src/cli/demo/payloads.ts'

test('the package holds 329 webhooks of 58 events, each with an id of its own', () => {
  const deliveries = readDeliveries()
  expect(deliveries).toHaveLength(329)
  expect(new Set(deliveries.map(({ event }) => event)).size).toBe(58)
  expect(new Set(deliveries.map(({ id }) => id)).size).toBe(329)
  expect(readDeliveries()).toEqual(deliveries)
})

test('without the package the error says how to install it', () => {
  expect(readNowhere).toThrow(MissingPayloadsError)
  expect(readNowhere).toThrow('Run: npm install --no-save @octokit/webhooks-examples@7')
})

test('the package is also found in the project that the command is called from', () => {
  expect(readDeliveries(['/nowhere/package.json', import.meta.url])).toHaveLength(329)
})

function readNowhere() {
  return readDeliveries(['/nowhere/package.json'])
}
