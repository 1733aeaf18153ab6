// The cases about what addresses respond with.
import { OF_ADDRESSES, testTopics } from './test-topics.ts';

testTopics(OF_ADDRESSES);
