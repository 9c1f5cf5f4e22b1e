import { Client } from 'pg'

/** Runs one text on a connection of its own, apart from everything that is tested, and answers the rows. */
export async function runSql(
  url: string,
  text: string,
  values?: readonly unknown[],
): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    const answer = await client.query<Record<string, unknown>>(text, values && [...values])
    return answer.rows
  } finally {
    await client.end()
  }
}
