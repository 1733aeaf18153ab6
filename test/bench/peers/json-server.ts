// json-server over a JSON file, with variant A's addresses and member put on top of its own routes.
import jsonServer from 'json-server';

interface Request {
  url: string;
  query: Record<string, string | undefined>;
}

const router = jsonServer.router(process.env.DATABASE as string);
router.render = (
  request: Request,
  response: { locals: { data: unknown[] }; json: (value: unknown) => void },
) => {
  const { data } = response.locals;
  response.json(request.url.startsWith('/posts') ? { posts: data } : data[0]);
};

const server = jsonServer.create().set('json spaces', 0);
server.get('/a/api/', (request: Request, _response: unknown, next: () => void) => {
  const { user, post } = request.query;
  request.url = post === undefined ? '/profiles' : '/posts';
  request.query =
    post === undefined
      ? { username: user }
      : {
          user: router.db.get('profiles').find({ username: user }).value().id,
          _sort: 'date',
          _order: 'desc',
          _limit: '15',
        };
  next();
});
server.use(router);
server.listen(Number(process.env.PORT), '127.0.0.1');
