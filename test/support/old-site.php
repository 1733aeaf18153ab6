<?php
// A site as they were written fifteen years ago: variant B without a web framework, with the faults that real ones have.
// Start it with `php -S 127.0.0.1:PORT old-site.php`; its users are user1 to user302.
$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
if (!preg_match('~^/api/username/user(\d+)(/shots)?$~', $path, $found) || $found[1] < 1 || $found[1] > 302) {
    http_response_code(404);
    exit('no such user');
}
// No header: PHP says text/html.
$n = (int) $found[1];
$text = fn ($plain) => htmlspecialchars($plain, ENT_QUOTES);
$list = ['id' => $n, 'username' => "user$n", 'name' => $text("Tom & \"Jerry\" O'Neill $n"), 'bio' => $text("<3 maps\nÅland"),
    'avatar' => ["/img/$n.png", "img/$n.png", "http://img.old.example/$n.png?a=1&amp;b=2", ''][$n % 4],
    'website' => ["www.user$n.example", 'n/a', "http://user$n.example/", null][$n % 4],
    'totalFollowers' => $n % 5 === 0 ? number_format(1000 + $n) : $n, 'Likes' => $n % 7 === 0 ? '-1' : '3'];
if (isset($found[2])) {
    $shots = array_map(fn ($i) => ['id' => (string) ($n * 100 + $i), 'user_id' => (string) $n, 'title' => $text("Nº $i & more"),
        'image' => "/shots/$i.jpg", 'date' => "2011-05-0$i 10:00:00", 'attachment' => $n % 10 === 0 ? 'none' : ''], range(1, 3));
    $list = ['Shots' => $shots];
}
$json = json_encode($list, JSON_UNESCAPED_SLASHES | ($n % 2 ? JSON_UNESCAPED_UNICODE : 0));
// Made by hand, with the comma that PHP programmers forget; some files were saved with a byte order mark.
echo $n % 11 === 0 ? "\xEF\xBB\xBF" : '', $n % 3 === 0 ? str_replace('}', ',}', $json) : $json;
