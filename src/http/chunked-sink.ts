import type { ServerResponse } from 'node:http';
import type { ResponseSink } from './pump-stream.ts';

/**
 * Creates a sink that writes each chunk of a response to its socket as one string where possible.
 *
 * `node:http` makes four writes per chunk and joins them in the next tick: 5.5 µs of CPU per chunk on a bare server,
 * against 4.1 µs this way. The first chunk goes through the response, because the head is sent with it; so do all
 * chunks that cannot be written to the socket directly (HTTP/1.0, or a response that waits for an earlier one on its
 * connection).
 */
export function createChunkedSink(response: ServerResponse): ResponseSink {
  const hasBody = response.req.method !== 'HEAD';
  let hasWritten = false;
  const write = (text: string): boolean => {
    // A chunk without bytes would be the terminating chunk.
    if (text === '') return true;
    // A response with a socket buffers nothing, so earlier writes are already on the socket.
    const { socket } = response;
    if (!hasWritten || !socket?.writable || !response.chunkedEncoding || !hasBody) {
      hasWritten = true;
      return response.write(text);
    }
    return socket.write(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
  };
  return {
    isDestroyed: () => response.destroyed,
    isFull: () => response.writableNeedDrain || response.socket?.writableNeedDrain === true,
    writeHead: (status, headers) => response.writeHead(status, headers),
    write,
    end(text = '') {
      // Sends the last text and the terminating chunk in one write.
      response.socket?.cork();
      write(text);
      response.end();
    },
    destroy: () => response.destroy(),
    once(_, listener) {
      // A response emits 'drain' only for writes to the response itself.
      (response.writableNeedDrain ? response : response.socket)?.once('drain', listener);
    },
  };
}
