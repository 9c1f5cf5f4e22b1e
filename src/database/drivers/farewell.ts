import { within } from './deadline.ts'

/** How long a connection may take to be gone, in milliseconds. */
const END_WITHIN = 2_000

/**
 * Ends a connection in the library's polite way; when the server does not answer in a moment (it
 * may be gone without a trace), the hard way. Never rejects: what was asked for is that it ends.
 */
export async function farewell(end: Promise<unknown>, destroy: () => void): Promise<void> {
  try {
    await within(END_WITHIN, end, () => new Error('the server did not say goodbye'))
  } catch {
    destroy()
  }
}
