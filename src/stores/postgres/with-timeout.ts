// A limit of time for what another machine does.

/** Fails after some time, unless the process itself was too busy to see that the promise was fulfilled. */
export function withTimeout<T>(milliseconds: number, promise: Promise<T>, code = 'ETIMEDOUT'): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(Object.assign(new Error('timeout'), { code }));
    const timer = setTimeout(() => setImmediate(late), milliseconds);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
