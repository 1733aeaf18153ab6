// The cases about what commands print.
import { OF_COMMANDS, testTopics } from './test-topics.ts';

testTopics(OF_COMMANDS);
