/** Calls `onLine` for each complete line, and exits this process when the stream ends. */
export function readLines(stream: NodeJS.ReadStream, onLine: (line: string) => void): void {
  let pieces: Buffer[] = [];
  stream.on('data', (piece: Buffer) => {
    let rest = piece;
    for (let end = rest.indexOf(0x0a); end >= 0; end = rest.indexOf(0x0a)) {
      pieces.push(rest.subarray(0, end));
      rest = rest.subarray(end + 1);
      const line = Buffer.concat(pieces).toString('utf8');
      pieces = [];
      onLine(line);
    }
    if (rest.length > 0) pieces.push(rest);
  });
  stream.on('end', () => process.exit(0));
}
