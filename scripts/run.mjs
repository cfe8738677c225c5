// Runs a TypeScript file of this project with a Node that is new enough, whatever `node` is on the PATH.
import { runNode } from '../bin/find-node.mjs';

runNode(process.argv.slice(2));
