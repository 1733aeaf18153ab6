// The files of a case as bytes. A line `* N TEXT` stands for N lines with the line's number in place of `#`. `⟨0d 0a⟩`
// stands for these bytes, and `⟨⟩` at the end for a text without a line feed.

export const toBytes = (text: string): Buffer =>
  Buffer.concat(
    text
      .replaceAll(/^\* (\d+) (.*\n)/gm, (_, count, line) =>
        Array.from({ length: Number(count) }, (_, nth) => line.replaceAll('#', String(nth + 1))).join(''),
      )
      .replace(/⟨⟩\n/g, '')
      .split(/⟨|⟩/)
      .map((part, index) =>
        Buffer.from(part.replaceAll(index % 2 ? ' ' : '\0', ''), index % 2 ? 'hex' : 'utf8'),
      ),
  );
