// Runs a TypeScript file of this project under a Node that is new enough, whatever `node` the caller has.
import { runNode } from '../bin/find-node.mjs';

runNode(process.argv.slice(2));
