import { encodeSseComment } from '../../../lib/sse.ts';
import type { DeploymentChange } from '../../../resources/deployments/deployment.ts';
import { encodeNumberedFrame } from '../../numbered-frame.ts';
import type { StreamEncoder } from '../../stream-encoder.ts';
import { encodeErrorFrame } from '../error-frame.ts';
import { encodeChange, type TimeFormatter } from './encode.ts';

/** Creates the encoder of a deployment's changes, one event each; the stream ends without an end mark. */
export function createDeploymentStreamEncoder(time: TimeFormatter, requestId: string): StreamEncoder<DeploymentChange> {
  let frameCount = 0;
  return {
    contentType: 'text/event-stream;charset=UTF-8',
    open: () => '',
    push: (changes) =>
      changes
        .map((change) =>
          encodeNumberedFrame({
            id: ++frameCount,
            event: 'result',
            status: 200,
            data: encodeChange(change, time, requestId),
          }),
        )
        .join(''),
    keepAlive: () => encodeSseComment('keep-alive'),
    fail: (error) => encodeErrorFrame(error, ++frameCount, requestId),
    close: () => '',
  };
}
