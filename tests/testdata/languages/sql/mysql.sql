# A dump, shortened.
CREATE DATABASE IF NOT EXISTS `shop` DEFAULT CHARACTER SET utf8mb4;
USE shop;
SOURCE tables.sql;

CREATE TABLE `book` (
  `id` int unsigned NOT NULL AUTO_INCREMENT,
  `title` varchar(200) DEFAULT 'Who\'s there; really?' COMMENT 'on the cover',
  `kind` enum('paper','audio') NOT NULL,
  PRIMARY KEY (`id`),
  KEY `title_idx` (`title`),
  FULLTEXT KEY `words` (`title`)
) ENGINE=InnoDB COMMENT='all books';

INSERT INTO book VALUES (1,'CREATE TABLE no (a int);','paper');

DELIMITER $$
-- Lends a book.
CREATE DEFINER='root'@'localhost' PROCEDURE lend(IN book_id INT, OUT ok BOOL)
BEGIN
  IF book_id IS NULL THEN
    SET ok = FALSE;
  END IF;
END $$
CREATE FUNCTION days() RETURNS INT DETERMINISTIC BEGIN RETURN 14; END$$
CREATE EVENT nightly ON SCHEDULE EVERY 1 DAY DO BEGIN DELETE FROM lost; END$$
DELIMITER ;

CREATE OR REPLACE
  ALGORITHM = MERGE
  DEFINER = 'root'@'localhost'
  SQL SECURITY INVOKER
VIEW readers (
  name, books
) AS
SELECT
if(r.name = '', 'nobody', r.name), count(*)
FROM reader r;

/*!50001 CREATE ALGORITHM=UNDEFINED */
/*!50001 VIEW `late` AS select `id` from `book` */;
CREATE TABLE `last` (`id` int);
