// Runs a TypeScript file of this project with a Node that is new enough, whatever `node` is on the PATH.
import { runNode } from '../bin/find-node.mjs';

// npm sends a signal to the shell of its script only, and not every shell passes it on.
runNode(process.argv.slice(2), { stopsWithParent: process.env.npm_lifecycle_event !== undefined });
