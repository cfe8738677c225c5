/** Calls back with each whole line, and ends this process with the stream. */
export function onLines(stream: NodeJS.ReadStream, hear: (line: string) => void): void {
  let pieces: Buffer[] = [];
  stream.on('data', (piece: Buffer) => {
    let rest = piece;
    for (let end = rest.indexOf(0x0a); end >= 0; end = rest.indexOf(0x0a)) {
      pieces.push(rest.subarray(0, end));
      rest = rest.subarray(end + 1);
      const line = Buffer.concat(pieces).toString('utf8');
      pieces = [];
      hear(line);
    }
    if (rest.length > 0) pieces.push(rest);
  });
  stream.on('end', () => process.exit(0));
}
