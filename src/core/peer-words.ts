/**
 * What other queues call an option, and what it is called here: whoever changes over writes their
 * old word first. Some are false friends (`expireInSeconds` limits a run elsewhere, `expires` means
 * "never started by then" here), which a guess by spelling would get wrong.
 *
 * The first word of each answer is the option that must exist where the word was used.
 */
const WORDS: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    attempts: ['retry.failures', 'failures'],
    max_attempts: ['retry.failures', 'failures'],
    maxAttempts: ['retry.failures', 'failures'],
    maxRetries: ['retry.failures', 'failures'],
    retries: ['retry.failures', 'failures'],
    retryLimit: ['retry.failures', 'failures'],
    limit: ['failures'],
    backoff: ['retry.backoff'],
    retryBackoff: ['retry.backoff', 'backoff'],
    retryDelay: ['retry.backoff', 'backoff'],
    delay: ['base'],
    retryDelayMax: ['retry.backoff', 'backoff', 'cap'],
    max: ['cap'],
    maxDelay: ['cap'],
    runAfter: ['delay or at'],
    runAt: ['at'],
    run_at: ['at'],
    scheduledAt: ['at'],
    scheduled_at: ['at'],
    startAfter: ['delay or at'],
    expireIn: ['timeout'],
    expireInHours: ['timeout'],
    expireInMinutes: ['timeout'],
    expireInSeconds: ['timeout'],
    ttl: ['expires'],
    lockDuration: ['lease'],
    visibilityTimeout: ['lease'],
    heartbeatSeconds: ['lease'],
    deduplication: ['dedup'],
    jobKey: ['dedup'],
    singletonKey: ['dedup'],
    unique: ['dedup'],
    jobKeyMode: ['merge'],
    jobId: ['id'],
    queueName: ['queue'],
    removeOnComplete: ['keep.completed', 'completed'],
    removeOnFail: ['keep.dead', 'dead'],
    failed: ['dead'],
    deleteAfterSeconds: ['keep'],
    retentionSeconds: ['keep'],
    data: ['input'],
    payload: ['input'],
    schema: ['input'],
    output: ['result'],
    returns: ['result'],
  }),
)

/** What to use in place of a peer's word, if one of the `known` options does that. */
export function ourWord(word: string, known: readonly string[]): string | undefined {
  return WORDS.get(word)?.find((answer) => known.includes(answer.replace(/\W.*$/, '')))
}
