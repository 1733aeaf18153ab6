// Waits for a promise of the operator's module. One that is never settled would end the process without a word.

/** What the promise gives, if it does so in time. */
export async function settled<T>(promise: T, longestWait: number): Promise<Awaited<T>> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new Error(`no answer within ${longestWait / 1000} s`)),
    longestWait,
  );
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
