import { sseComment } from '../../../lib/sse.ts';
import type { DeploymentChange } from '../../../resources/deployments/deployment.ts';
import { numberedFrame } from '../../numbered-frame.ts';
import type { StreamEncoder } from '../../stream-encoder.ts';
import { errorFrame } from '../error-frame.ts';
import type { DeploymentWords } from './encode.ts';
import { encodeChange } from './encode.ts';

/** wire.md E8.1: a frame for each change; the stream ends where there is nothing to follow any more, without a mark. */
export function deploymentStream(words: DeploymentWords, requestId: string): StreamEncoder<DeploymentChange> {
  let frames = 0;
  return {
    contentType: 'text/event-stream;charset=UTF-8',
    open: () => '',
    push: (changes) =>
      changes
        .map((change) =>
          numberedFrame({
            id: ++frames,
            event: 'result',
            status: 200,
            data: encodeChange(change, words, requestId),
          }),
        )
        .join(''),
    keepAlive: () => sseComment('keep-alive'),
    fail: (error) => errorFrame(error, ++frames, requestId),
    close: () => '',
  };
}
