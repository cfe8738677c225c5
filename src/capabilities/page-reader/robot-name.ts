import { createUserAgent } from '../../tools/user-agent.ts';

/** Name that robots.txt files know this service by; rules for all robots (`*`) apply as well. */
export const ROBOT_NAME = createUserAgent();
