import { ServiceError } from '../../core/error.ts';
import type { Endpoint } from '../endpoint.ts';
import { INTERFACES } from '../interfaces.ts';
import type { SocketEndpoint } from '../socket-endpoint.ts';
import { createSession } from './session.ts';
import type { SessionNeeds } from './session.ts';

const PATH = '/api-ws/v1/inference';

/** Recognition of speech while it is spoken (wire.md E7.3). */
export const realtime = (needs: SessionNeeds): SocketEndpoint => ({
  operation: 'realtime.connect',
  path: PATH,
  family: 'native',
  regions: INTERFACES.realtime.regions,
  open: (peer, context) => createSession(needs, peer, context),
});

/** The same path for whoever asks for it as for any other. */
export const realtimePlain = (): Endpoint => ({
  operation: 'realtime.plain',
  method: 'GET',
  path: PATH,
  family: 'native',
  regions: INTERFACES.realtime.regions,
  onDisconnect: 'cancel',
  handle: () =>
    Promise.reject(
      new ServiceError('invalid-request', 'This path speaks WebSocket: ask for it with Upgrade: websocket.'),
    ),
});
